/** The types that the TypeScript builders of all notations share. */
import type * as z from 'zod';
import type { WrittenSections } from '../schema/schema.ts';
import type { approvers } from '../schema/people.ts';
import type { AgentName, ToolName } from '../shape/fields.ts';
import type { Json } from '@sluice-internal/kernel/expr';

/** A value as its schema takes it. `Agent` stands where an agent is named, and `Tool` where a tool is. */
export type Written<Value, Agent = string, Tool = string> = [Json] extends [Value]
  ? unknown
  : Value extends AgentName
    ? Agent
    : Value extends ToolName
      ? Tool
      : Value extends object
        ? {
            readonly [Key in keyof Value]:
              | Written<Exclude<Value[Key], undefined>, Agent, Tool>
              | Extract<Value[Key], undefined>;
          }
        : Value;

/** All keys, and each with a value. */
export type Needed<Fields> = { readonly [Key in keyof Fields]-?: Exclude<Fields[Key], undefined> };

export interface NamedAgent {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly [field: string]: unknown;
}

type IdOf<Agent> = Agent extends { readonly id: infer Id extends string }
  ? Id
  : Agent extends { readonly name: infer Name extends string }
    ? Name
    : never;
/** The ids that a list of agents declares; any text if the list is not known to the compiler. */
export type Ids<Agents extends readonly NamedAgent[]> = number extends Agents['length'] ? string : IdOf<Agents[number]>;

type Fields = { readonly [field: string]: unknown };
export type NamedTools = { readonly [name: string]: Fields };
export type NamedServers = { readonly [server: string]: unknown };

/** The people who may answer. */
export type ApproversFields = Written<z.input<typeof approvers>>;

/** The sections of a document that no name in the notation refers to. */
export type SharedSections = Written<Omit<WrittenSections, 'agents' | 'tools' | 'mcp' | 'flows'>> & {
  readonly flows?: { readonly [id: string]: Fields } | undefined;
};

/** The sections of a document besides its notation. */
export interface FlowSections<Agents, Tools, Servers = NamedServers> extends SharedSections {
  readonly agents?: Agents | undefined;
  readonly tools?: Tools | undefined;
  readonly mcp?: Servers | undefined;
}
