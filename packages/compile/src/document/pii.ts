/** The section `pii`: its defaults and its checks. */
import { present, reasonOf } from '@sluice-internal/kernel/expr';
import { PII_TYPES } from '@sluice-internal/kernel/catalog';
import type { PiiPolicy } from '@sluice-internal/kernel/ir';
import { RE2JS } from 're2js';
import type { Report } from '../source/diagnostics.ts';
import { regexProblem } from '../expressions/problem.ts';
import type { Names } from './names.ts';
import type { Sections } from './schema/schema.ts';
import type { Shaped } from './shape/shape.ts';

export function piiOf(raw: Sections['pii']): PiiPolicy | undefined {
  if (raw === undefined || raw.mode === 'off') return undefined;
  const { mode = 'tokenize', types = PII_TYPES, names = false, trusted = [], custom = [], regions = [] } = raw;
  const { service, key_file: keyFile, attachments } = raw;
  return {
    mode,
    types,
    names,
    trusted,
    custom: custom.map((each) => present(each)),
    ...(regions.length === 0 ? {} : { regions }),
    ...(attachments === true ? { attachments } : {}),
    ...present({ service: service && { url: service.url, language: service.language ?? 'en' }, keyFile }),
  };
}

export function checkPii(
  sections: Shaped<Sections>,
  tools: Pick<Names, 'has' | 'help'>,
  agents: Pick<Names, 'has' | 'help'>,
  report: Report,
): void {
  const { trusted = [], custom = [] } = sections.value.pii ?? {};
  for (const [index, name] of trusted.entries()) {
    if (tools.has(name) || agents.has(name)) continue;
    report.error('unknown-tool', sections.at('pii', 'trusted', index), `no tool or agent is called \`${name}\``, {
      help: tools.help(name, agents.help(name, 'Name a tool or an agent of this document.')),
    });
  }
  const kinds = new Map<string, string>([...PII_TYPES, 'name'].map((type) => [tokenWord(type), type]));
  for (const [index, { name, pattern }] of custom.entries()) {
    const same = kinds.get(tokenWord(name));
    if (same !== undefined && same !== name)
      report.error(
        'duplicate-id',
        sections.at('pii', 'custom', index, 'name'),
        `\`${name}\` and \`${same}\` have the same tokens: \`[PII_${tokenWord(name)}_001]\``,
        { help: 'Rename it.' },
      );
    kinds.set(tokenWord(name), name);
    const problem = regexProblem(pattern, engineProblem(pattern));
    if (problem !== null)
      report.error('bad-regex', sections.at('pii', 'custom', index, 'pattern'), `\`pattern\` ${problem.message}`, {
        help: problem.help,
      });
    if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name))
      report.error('bad-value', sections.at('pii', 'custom', index, 'name'), `\`${name}\` cannot be part of a token`, {
        help: 'Use letters, digits and `_`, for example `policy`.',
      });
  }
}

/** The part of a token that names the kind of the value. */
function tokenWord(kind: string): string {
  return kind.toUpperCase().replace(/_+/g, '_');
}

function engineProblem(pattern: string): string | null {
  try {
    RE2JS.compile(RE2JS.translateRegExp(pattern));
    return null;
  } catch (cause) {
    return reasonOf(cause);
  }
}
