/** What other packages use of `library/define`. */
export { checkedInput } from './definition.ts';
export type { InputFor, OutputFor } from './definition.ts';
export { toJsonSchema } from './schema.ts';
