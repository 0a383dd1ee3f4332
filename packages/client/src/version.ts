/** The version of the package: a server that is older refuses what it may not know. */
export const VERSION = '0.1.0';
