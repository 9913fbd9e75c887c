"""A set's scores from its items: the choice of one metric an item, normalisation, and the three averages."""
