/**
 * The data that flows through a run: what a journal stores and an expression reads. Nothing else crosses a port.
 */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
