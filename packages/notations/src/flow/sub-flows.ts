/** Finds the flow that a `flow` node names: by id in `flows:` of its document, or in a file beside the document. */
import { childOf, didYouMean, entryOf, parseSource } from '@sluice-internal/compile/source';
import type { Located, Report } from '@sluice-internal/compile/source';
import { isPoison, listed, readDocument } from '@sluice-internal/compile/document';
import type { Definitions, ReadDocument } from '@sluice-internal/compile/document';
import { checkBoundaries, checkRules } from '@sluice-internal/compile/rules';
import { adaptDocument } from './adapt.ts';
import type { FlowNode } from './model.ts';

/** A flow among the flows that call it. */
export interface Standing {
  readonly document: ReadDocument;
  readonly definitions: Definitions;
  readonly report: Report;
  /** The folder of the file that the flow stands in, from the folder of the main document. */
  readonly folder: string;
  /** The flow and those that call it, from the outermost. */
  readonly chain: readonly { readonly key: string; readonly name: string }[];
}

export const FLOW_KEYS = { name: 'flow', key: 'flow', olderPlace: 'runtime' } as const;

const DEPTH_MAX = 16;

/** Sections that bound a whole run, so that only the outermost document can have them. */
const OUTER_ONLY = [
  'policies',
  'boundary',
  'protections',
  'pii',
  'retain',
  'people',
  'notify',
  'review_queue',
] as const;

/** Null if there is no such flow, or if it calls itself, which is reported. */
export function findSubFlow(node: FlowNode, name: string, standing: Standing): Standing | null {
  if (isPoison(name)) return null;
  const { document, report, chain, folder } = standing;
  const flows = childOf(document.doc, 'flows');
  const own = entryOf(flows, name);
  const isFile = own === undefined && /[/\\]|\.(?:ya?ml|json)$/.test(name);
  if (own === undefined && !isFile) {
    reportUnknown(node, name, flows, standing);
    return null;
  }
  const path = pathFrom(folder, name);
  const key = isFile ? path : `${chain.at(-1)?.key.split('#')[0] ?? ''}#${name}`;
  const names = [...chain.map((each) => each.name), name];
  if (chain.some((each) => each.key === key)) {
    report.error('recursive-flow', node.at('flow'), `flow node '${node.id}' calls its own flow: ${names.join(' → ')}`, {
      help: 'A sub-flow is copied into the flow that calls it, so it cannot call itself. Use a cycle with `max_visits`.',
    });
    return null;
  }
  const depth = Math.min(standing.definitions.protections.depth ?? DEPTH_MAX, DEPTH_MAX);
  if (names.length > depth) {
    report.error(
      'bad-value',
      node.at('flow'),
      `flow node '${node.id}' makes ${names.length} levels of flows, and ${depth} are allowed: ${names.join(' → ')}`,
      { help: depth === DEPTH_MAX ? 'Flatten the flows.' : 'Flatten the flows, or set `protections.depth`.' },
    );
    return null;
  }
  const below = [...chain, { key, name }];
  if (own !== undefined) return { ...standing, document: { ...document, body: own.value, bare: false }, chain: below };
  return readFile(node, path, { ...standing, chain: below });
}

function readFile(node: FlowNode, path: string, standing: Standing): Standing | null {
  const { report, definitions } = standing;
  const text = definitions.readText?.(path) ?? null;
  if (text === null) {
    report.error('unknown-flow', node.at('flow'), `the file \`${path}\` of flow node '${node.id}' cannot be read`, {
      help: 'The path starts at the folder of the document.',
    });
    return null;
  }
  const main = report.source.file;
  const slash = main.lastIndexOf('/');
  const parsed = parseSource(text, `${standing.folder === '' && slash >= 0 ? main.slice(0, slash + 1) : ''}${path}`);
  report.include(parsed.report);
  const adapted = parsed.doc === null ? null : adaptDocument(parsed.doc, parsed.report);
  const document = adapted === null ? null : readDocument(adapted, [FLOW_KEYS], parsed.report);
  if (document === null) return null;
  reportOuterOnly(document, parsed.report);
  checkRules(document, definitions, parsed.report);
  checkBoundaries(document, parsed.report, { mcpLock: definitions.mcpLock });
  return {
    ...standing,
    document,
    report: parsed.report,
    definitions: definitions.forSections(document.sections.value),
    folder: path.slice(0, path.lastIndexOf('/') + 1),
  };
}

function reportOuterOnly({ doc }: ReadDocument, report: Report): void {
  for (const section of OUTER_ONLY) {
    const entry = doc.entries.get(section);
    if (entry === undefined) continue;
    report.error('not-supported', entry.keyRange, `a sub-flow cannot have \`${section}\` of its own`, {
      help: `Move \`${section}\` to the document that calls it: it applies to the whole run.`,
    });
  }
}

function reportUnknown(node: FlowNode, name: string, flows: Located | undefined, { document, report }: Standing): void {
  // A section that cannot be read has been reported, and may have the flow.
  if (flows === undefined ? document.names.misspelt.has('flows') : flows.kind !== 'map') return;
  const known = flows?.kind === 'map' ? [...flows.entries.keys()] : [];
  const declared = known.length === 0 ? '' : ` Declared: ${listed(known)}.`;
  const otherwise = `Declare it under \`flows\`, or name a file, as \`./${name}.flow.yaml\`.${declared}`;
  report.error('unknown-flow', node.at('flow'), `unknown flow '${name}' on flow node '${node.id}'`, {
    help: didYouMean(name, known, otherwise),
  });
}

/** A path relative to a folder, without `.` and `..` where they can be resolved. */
function pathFrom(folder: string, file: string): string {
  if (file.startsWith('/')) return file;
  const parts: string[] = [];
  for (const part of `${folder}${file}`.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else parts.push(part);
  }
  return `${folder.startsWith('/') ? '/' : ''}${parts.join('/')}`;
}
