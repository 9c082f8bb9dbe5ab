"""What is known of providers and models: addresses, key variables, parameters, context windows. Tables; nothing is read."""
