/** What a notation's front end is: it reads one document, reports what is wrong with it, and lowers it through the builder. */
import type { Lowered } from '../lower/builder.ts';
import type { Definitions } from '../document/definitions.ts';
import type { Report } from '../diagnose/diagnostics.ts';
import type { ReadDocument } from '../document/document.ts';
import type { Picture } from '../picture/picture.ts';

export interface LoweredDocument {
  /** Null where the report holds errors that make lowering pointless. */
  readonly lowered: Lowered | null;
  /** As much of the authored graph as could be read. */
  readonly picture: Picture | null;
}

export type Dialect = (document: ReadDocument, definitions: Definitions, report: Report) => LoweredDocument;
