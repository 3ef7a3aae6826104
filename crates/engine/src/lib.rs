//! Embedded reference workloads that really compute: a small transformer served over the OpenAI API, and a trainer.
