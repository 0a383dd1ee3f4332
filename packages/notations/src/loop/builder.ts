/**
 * The typed builder of a bounded loop. It returns the same document as YAML. An unknown agent is a type error, and so is a
 * planner without an executor.
 */
import type * as z from 'zod';
import type { FlowSections, Ids, NamedAgent, NamedTools, Written } from '@sluice-internal/compile/document';
import type { loopSchema } from './schema.ts';

type Roles<Id> =
  | { readonly agent: Id; readonly planner?: undefined; readonly executor?: undefined }
  | { readonly agent?: undefined; readonly planner?: Id; readonly executor: Id };

export type LoopFields<Id> = Omit<Written<z.input<typeof loopSchema>, Id>, 'agent' | 'planner' | 'executor'>;

export interface LoopDocument extends FlowSections<readonly NamedAgent[], NamedTools> {
  readonly loop: LoopFields<string> & Roles<string>;
}

export function loop<const Agents extends readonly NamedAgent[], const Given extends NamedTools = NamedTools>(
  definition: LoopFields<Ids<Agents>> & Roles<Ids<Agents>>,
  sections: FlowSections<Agents, Given> = {},
): LoopDocument {
  return { ...sections, loop: definition };
}
