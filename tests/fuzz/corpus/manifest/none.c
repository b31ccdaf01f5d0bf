/* none */
int kernel;
