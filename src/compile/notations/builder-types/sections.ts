/** The types that the TypeScript builders of all notations share. */
import type * as z from 'zod';
import type { approvers } from '../../document/schema/people.ts';
import type { AgentName, ToolName } from '../../document/shape/fields.ts';
import type { Json } from '../../../expr/json.ts';

/** A value as its schema takes it. `Agent` stands where an agent is named, and `Tool` where a tool is. */
export type Written<Value, Agent = string, Tool = string> = [Json] extends [Value]
  ? unknown
  : Value extends AgentName
    ? Agent
    : Value extends ToolName
      ? Tool
      : Value extends object
        ? { readonly [Key in keyof Value]: Written<Exclude<Value[Key], undefined>, Agent, Tool> }
        : Value;

export interface NamedAgent {
  readonly id?: string;
  readonly name?: string;
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
export interface SharedSections {
  readonly sluice?: 1;
  readonly models?: { readonly [alias: string]: unknown };
  readonly budgets?: { readonly [dimension: string]: number };
  readonly boundary?: string | Fields;
  readonly policies?: { readonly [id: string]: string | Fields };
  readonly protections?: Fields;
  readonly pii?: Fields;
  readonly retain?: Fields;
  readonly people?: readonly Fields[];
  readonly notify?: readonly Fields[];
  readonly review_queue?: Fields;
  readonly flows?: { readonly [id: string]: Fields };
}
