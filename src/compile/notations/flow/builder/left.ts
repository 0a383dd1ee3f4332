/**
 * What each node leaves behind for templates to read, by id: `output` or `result`, with the fields that a literal schema
 * lists. `unknown` is whatever no schema closes, and all there is to say where an id is not a literal.
 */
export type LeftBehind<Node extends { readonly id: string }, Agents, Tools> = string extends Node['id']
  ? { readonly [id: string]: unknown }
  : { readonly [Each in Node as Each['id']]: LeftBy<Each, Agents, Tools> };

type LeftBy<Node, Agents, Tools> = Node extends { readonly type: 'agent'; readonly agent: infer Id }
  ? { readonly output: OutputOf<AgentOf<Agents, Id>> }
  : Node extends { readonly type: 'tool'; readonly tool: infer Name }
    ? { readonly result: Name extends keyof Tools ? OutputOf<Tools[Name]> : unknown }
    : Node extends { readonly type: 'parallel'; readonly branches: readonly { readonly to: infer Head }[] }
      ? { readonly output: { readonly [Name in Head & string]: unknown } }
      : Node extends { readonly type: 'decision' }
        ? { readonly output: unknown }
        : Nothing;

/** Approvals and terminals have neither output nor result. */
type Nothing = { readonly [Field in never]: unknown };

type AgentOf<Agents, Id> = Agents extends readonly (infer Agent)[]
  ? Extract<Agent, { readonly id: Id } | { readonly id?: undefined; readonly name: Id }>
  : never;

type OutputOf<Definition> = [Definition] extends [{ readonly output: infer Schema }] ? FieldsOf<Schema> : unknown;

/** As the compiler reads it: an object that lists its fields has no others, unless it says so. */
type FieldsOf<Schema> = Schema extends {
  readonly type?: 'object';
  readonly properties: infer Fields;
  readonly additionalProperties?: false;
}
  ? [keyof Schema & Opening] extends [never]
    ? { readonly [Name in keyof Fields]: FieldsOf<Fields[Name]> }
    : unknown
  : unknown;

/** Keywords beside which a list of properties does not say everything. */
type Opening =
  | '$ref'
  | '$dynamicRef'
  | 'allOf'
  | 'anyOf'
  | 'oneOf'
  | 'not'
  | 'if'
  | 'const'
  | 'enum'
  | 'patternProperties';
