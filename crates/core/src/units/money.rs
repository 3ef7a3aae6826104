//! Amounts of money.

use std::fmt;

use super::error::{Quantity, UnitError, UnitProblem};
use super::number::split_number;

/// An amount of one currency. Cotenant converts no currencies.
#[derive(Clone, Debug, PartialEq)]
pub struct Money {
    /// How much, in whole units of the currency.
    pub amount: f64,
    /// The currency's code of three capital letters (ISO 4217), as written.
    pub currency: String,
}

impl Money {
    /// Reads an amount of money: `2.50 EUR`.
    ///
    /// # Errors
    /// No currency, a currency that is not three capital letters, a negative or infinite number.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        const AMOUNT_MAX: f64 = 1e15;
        let fail = |problem| Err(UnitError::new(Quantity::Money, text, problem));
        let (amount, currency) = split_number(Quantity::Money, text)?;
        if currency.is_empty() {
            return fail(UnitProblem::NoUnit(text.trim().to_owned()));
        }
        if currency.len() != 3 || !currency.bytes().all(|byte| byte.is_ascii_uppercase()) {
            let meant = match currency {
                "€" | "eur" | "euro" | "Euro" => Some("EUR"),
                "$" | "usd" | "dollars" => Some("USD"),
                "£" | "gbp" => Some("GBP"),
                _ => None,
            };
            return fail(UnitProblem::UnknownUnit { unit: currency.to_owned(), meant });
        }
        if amount > AMOUNT_MAX {
            return fail(UnitProblem::TooLarge("1e15"));
        }
        Ok(Self { amount, currency: currency.to_owned() })
    }
}

impl fmt::Display for Money {
    /// With two digits after the point: `2.50 EUR`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} {}", self.amount, self.currency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_has_a_currency() {
        let money = Money::parse("2.5 EUR").unwrap();
        assert_eq!((money.amount, money.currency.as_str()), (2.5, "EUR"));
        assert_eq!(money.to_string(), "2.50 EUR");
        assert_eq!(
            Money::parse("2.5").unwrap_err().hint(),
            "write the currency: `2.5 EUR` or `2.5 USD`"
        );
        assert_eq!(Money::parse("2.5 €").unwrap_err().hint(), "did you mean `EUR`?");
    }
}
