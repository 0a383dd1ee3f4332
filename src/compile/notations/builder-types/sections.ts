/** The sections of a document that no name in the notation refers to. */

export interface NamedAgent {
  readonly id?: string;
  readonly name?: string;
  readonly [field: string]: unknown;
}

type Fields = { readonly [field: string]: unknown };
export type NamedTools = { readonly [name: string]: Fields };
export type NamedServers = { readonly [server: string]: unknown };

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
