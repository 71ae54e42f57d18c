"""Comments with the identity word made exchangeable: lexicons, finding the words, templates, and filling them."""
