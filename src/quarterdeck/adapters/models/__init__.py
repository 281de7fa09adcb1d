"""Language models: the providers we speak to, the embedded one, and the choice between them."""
