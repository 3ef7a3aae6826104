//! One report value and its three renderings: terminal, HTML and JSON.
