/** A notation: the keys that announce it, its schema, and how a document of it becomes a graph and a picture. */
import type * as z from 'zod';
import type { Excess } from './excess.ts';
import type { Report } from '../source/diagnostics.ts';
import type { Definitions } from '../document/definitions.ts';
import type { Protections } from '../document/protections.ts';
import type { ReadDocument } from '../document/document.ts';
import type { MoreTools } from '../document/names-check.ts';
import type { NotationKeys } from '../document/notation.ts';
import type { Boundary } from '../document/schema/bounds.ts';
import type { McpServers } from '../document/schema/tools.ts';
import type { Located } from '../source/located.ts';
import type { Lowered } from '../lower/builder-types.ts';
import type { Picture } from '../picture/picture.ts';

export interface LoweredDocument {
  /** Null if errors make lowering pointless. */
  readonly lowered: Lowered | null;
  /** Parts of the document that a lower tier of the ladder could do. */
  readonly excess?: readonly Excess[];
  /** As much of the authored graph as could be read. */
  readonly picture: Picture | null;
  /** The MCP servers, if the notation declares some beside those of `mcp`. */
  readonly servers?: McpServers | undefined;
  /** The tools and servers of the notation and of all sub-flows. A boundary can name them. */
  readonly known?: MoreTools;
  /** The boundary of the run, if the notation adds to that of the document. */
  readonly boundary?: Boundary | undefined;
}

export interface Notation extends NotationKeys {
  /** Renames keys of the system that the notation comes from. Warns about those without effect. */
  readonly adapt?: (doc: Located, report: Report) => Located;
  /** The schema of the value under the key. A notation without one is not in the editors' schema. */
  readonly schema?: z.ZodType;
  /** The fields of a bare document. */
  readonly bare?: () => z.ZodRawShape;
  /** Reads, checks, draws and lowers a document. Problems go to the report. */
  readonly lower: (document: ReadDocument, definitions: Definitions, report: Report) => LoweredDocument;
  /** True if the notation bounds runs by turns and has no key for other counts: then there is no warning about them. */
  readonly boundedByTurns?: boolean;
  /** Of these protections, those that the notation can apply. */
  readonly limits?: readonly ('depth' | 'spawn' | 'on_failure')[];
  /** The protections that apply if a document declares none. Unless given, those of every notation. */
  readonly protections?: Protections;
}
