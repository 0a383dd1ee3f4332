/** `Brownfield`: the files that a first session found in scope are the only ones that may change. All agents get its conventions. */
import type { Json } from '@sluice-internal/kernel/expr';
import type { Report } from '@sluice-internal/compile/source';
import type { Shaped } from '@sluice-internal/compile/document';
import type { RawTeam } from './schema/sections.ts';

type ReadText = ((file: string) => string | null) | undefined;

/** The team with the envelope and the conventions of its `Brownfield` section. */
export function withBrownfield<Raw extends RawTeam>(
  body: Shaped<Raw>,
  readText: ReadText,
  report: Report,
): Shaped<Raw> {
  const section = body.value.Brownfield;
  if (section === undefined || !section.Enabled) return body;
  const { DiscoveryBriefPath: brief, ConventionProfilePath: profile, SeedEnvelopeFromBrief: seeds } = section;
  const files = seeds ? inScope(brief, body, readText, report) : [];
  const conventions = profile === undefined ? null : (readText?.(profile) ?? null);
  if (profile !== undefined && conventions === null)
    report.warning(
      'unused-field',
      body.at('Brownfield', 'ConventionProfilePath'),
      `\`${profile}\` cannot be read, so agents learn no conventions`,
      { help: 'Paths start at the folder of the document. The file is there once a first session has written it.' },
    );
  const { Security: security = { AllowShellExecution: true, AllowPrivateHosts: false }, Agents } = body.value;
  const envelope = { ...security, ChangeEnvelope: [...(security.ChangeEnvelope ?? []), ...files] };
  const withConventions = (instructions: string): string =>
    `${instructions}\n\nConventions of this project:\n${conventions?.trim()}`;
  const value = {
    ...body.value,
    ...(files.length === 0 ? {} : { Security: envelope }),
    ...(conventions === null
      ? {}
      : { Agents: Agents.map((agent) => ({ ...agent, Instructions: withConventions(agent.Instructions) })) }),
  };
  return { ...body, value };
}

/** The `in_scope_files` of the brief. Without any, nothing limits the changes, which is a warning. */
function inScope(
  brief: string | undefined,
  body: Shaped<RawTeam>,
  readText: ReadText,
  report: Report,
): readonly string[] {
  const help =
    'List the files that may be changed under `Security.ChangeEnvelope`, or let a first session write the brief.';
  const at = brief === undefined ? body.key('Brownfield') : body.at('Brownfield', 'DiscoveryBriefPath');
  const text = brief === undefined ? null : (readText?.(brief) ?? null);
  if (text === null) {
    const missing = brief === undefined ? '`DiscoveryBriefPath` is not set' : `\`${brief}\` cannot be read`;
    report.warning('not-enforced', at, `${missing}, so \`Brownfield\` limits no changes`, { help });
    return [];
  }
  const files = listed(text);
  if (files === null)
    report.error('bad-value', at, `\`${brief ?? ''}\` has no list \`in_scope_files\``, {
      help: 'Write a JSON object such as `{"in_scope_files": ["src/billing.ts"]}`.',
    });
  else if (files.length === 0)
    report.warning('not-enforced', at, `\`in_scope_files\` is empty, so \`Brownfield\` limits no changes`, { help });
  return files ?? [];
}

function listed(text: string): readonly string[] | null {
  try {
    const { in_scope_files: files } = JSON.parse(text) as { readonly in_scope_files?: Json };
    return Array.isArray(files) && files.every((file) => typeof file === 'string') ? files : null;
  } catch {
    return null;
  }
}
