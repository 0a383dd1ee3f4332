/** What other packages use of `library/define`. */
export { checkedInput } from './definition.ts';
