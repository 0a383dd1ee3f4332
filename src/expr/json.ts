/**
 * The data that flows through a run: what a journal stores and an expression reads. Nothing else crosses a port.
 * @example
 * const value: Json = { order: 'A-1', amounts: [20, 5] };
 */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
