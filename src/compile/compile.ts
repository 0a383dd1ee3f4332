/**
 * Text or object in; a verified, hashed, frozen flow out, or every reason why not. Never throws for what is in the document.
 */
import type { CompiledFlow } from '../ir/nodes.ts';
import { checkBoundaries } from './document/rules-check.ts';
import { warnAboutBudgets } from './advise/budgets.ts';
import { warnAboutCost, warnAboutCounts } from './advise/budgets.ts';
import { boundsOf } from './certificate/certificate.ts';
import type { Bounds } from './certificate/certificate.ts';
import { definitionsOf } from './document/definitions.ts';
import type { Dialect } from './notations/front-end.ts';
import type { Diagnostic, Report } from './diagnose/diagnostics.ts';
import { lowerFlow } from './notations/flow/front-end.ts';
import { lowerLoopDocument } from './notations/loop/front-end.ts';
import { lowerSteps } from './notations/workflow/front-end.ts';
import { lowerTeam } from './notations/team/front-end.ts';
import { readDocument } from './document/document.ts';
import type { ReadDocument } from './document/document.ts';
import { seal } from './lower/hash.ts';
import type { Sha256 } from './lower/hash.ts';
import type { PriceLookup } from './document/model-table.ts';
import type { Notation } from './document/notation.ts';
import type { Picture } from './picture/picture.ts';
import { checkPrices } from './document/rules-check.ts';
import { warnOfTier } from './advise/ladder.ts';
import { checkPolicies, readPolicies } from './document/policies.ts';
import type { PolicyOptions } from './document/policies.ts';
import { START } from './source/range.ts';
import { locate, parseSource } from './source/source.ts';
import { checkVerifications } from './document/rules-check.ts';
import { verify } from './verify/verify.ts';

export interface CompileOptions extends PolicyOptions {
  /** What diagnostics call the document. */
  readonly file?: string;
  readonly hash: Sha256;
  /** The price of a model that the document gives none for. */
  readonly priceOf?: PriceLookup;
  /** The alias or `provider/model` that agents run on which name no model. */
  readonly model?: string;
}

export interface CompileResult {
  readonly ok: boolean;
  readonly notation: Notation | null;
  readonly diagnostics: readonly Diagnostic[];
  readonly flow?: CompiledFlow;
  readonly bounds?: Bounds;
  /** The authored graph, as far as it could be read. */
  readonly graph?: Picture;
}

const DIALECTS: { readonly [notation in Notation]: Dialect | null } = {
  flow: lowerFlow,
  workflow: lowerSteps,
  orchestration: lowerTeam,
  staged: null,
  loop: lowerLoopDocument,
};

export function compile(source: string | object, options: CompileOptions): CompileResult {
  const parsed =
    typeof source === 'string' ? parseSource(source, options.file ?? '<text>') : locate(source, options.file);
  const { report } = parsed;
  const document = parsed.doc === null ? null : readDocument(parsed.doc, report);
  if (document === null) return { ok: false, notation: null, diagnostics: report.list() };
  return { ...compileDocument(document, report, options), notation: document.notation, diagnostics: report.list() };
}

type Compiled = Omit<CompileResult, 'notation' | 'diagnostics'>;

function compileDocument(document: ReadDocument, report: Report, options: CompileOptions): Compiled {
  const dialect = DIALECTS[document.notation];
  if (dialect === null) {
    report.error(
      'unsupported-notation',
      document.at,
      `this version does not run \`${document.notation}\` documents yet`,
      {
        help: 'It runs `flow`, `workflow`, `Orchestration` and `loop`.',
      },
    );
    return { ok: false };
  }
  const policies = readPolicies(document, report, options);
  checkBoundaries(document, report);
  checkVerifications(document, report);
  const { lowered, picture } = dialect(
    document,
    definitionsOf(document.sections.value, { ...options, policies }),
    report,
  );
  const graph = picture === null ? {} : { graph: picture };
  if (lowered === null || report.failed()) return { ok: false, ...graph };
  verify(lowered, report);
  checkPrices(lowered, document, report);
  checkPolicies(policies, lowered.body.tools, document, report, options);
  if (report.failed()) return { ok: false, ...graph };
  const { bounds, least } = boundsOf(lowered.body);
  warnAboutCost(bounds, lowered.body, document.at, report);
  // A team is bounded by its turns; its notation, as it is printed, has no word for the rest.
  if (document.notation !== 'orchestration') warnAboutCounts(bounds, document.at, report);
  warnAboutBudgets(bounds, lowered.body, document, report);
  warnOfTier(lowered, document, report);
  try {
    return { ok: true, flow: seal({ ...lowered.body, least }, options.hash), bounds, ...graph };
  } catch {
    report.error('not-json', START, 'this document holds half of a surrogate pair, which no text can', {
      help: 'Look for a lone escape from `\\ud800` to `\\udfff`.',
    });
    return { ok: false, ...graph };
  }
}
