/** What other packages use of `compile/graph`. */
export { componentsOf, cyclesIn, forwardOrder, reachableFrom } from './components.ts';
export { graphOf } from './graph.ts';
export type { Share } from './graph.ts';
