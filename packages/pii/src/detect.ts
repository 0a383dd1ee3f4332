/** Finds personal data in a text. If two kinds overlap, the longer one counts, then the first one below. */
import { PII_PATTERNS } from '@sluice-internal/kernel/catalog';
import type { DetectedPii } from '@sluice-internal/kernel/catalog';
import type { PiiPolicy } from '@sluice-internal/kernel/ir';
import { card, iban, ssn } from './detectors/numbers.ts';
import { ip } from './detectors/ip.ts';
import { phoneDetector } from './detectors/phone.ts';
import { secret } from './detectors/secrets.ts';
import { customDetector, name, patternDetector } from './detectors/patterns.ts';
import { longestOf, type Detector, type Span } from './detectors/detector.ts';
import { normalise } from './normalise.ts';

const detectorsOf = (regions: readonly string[]): { readonly [type in DetectedPii]: Detector } => ({
  secret,
  iban,
  card,
  ssn,
  phone: phoneDetector(regions),
  ip,
});

export interface Found extends Span {
  readonly type: string;
}

export type Detect = (text: string, field: string | null) => readonly Found[];

type Policy = Pick<PiiPolicy, 'types' | 'names' | 'custom' | 'regions'>;

export function createDetect({ types, names, custom, regions = [] }: Policy): Detect {
  const detectors = [
    ...custom.map(customDetector),
    ...[
      ...Object.values(detectorsOf(regions)),
      ...Object.entries(PII_PATTERNS).map(([type, row]) => patternDetector(type, row)),
    ].filter(({ type }) => types.includes(type)),
    // A guess, and off unless a document asks for it.
    ...(names ? [name] : []),
  ];
  return (source, field) => {
    const { text, original } = normalise(source);
    const all = detectors.flatMap(({ type, find }) =>
      find({ text, field }).map(({ start, end }) => ({ type, start, end })),
    );
    return longestOf(all)
      .map(({ type, start, end }) => {
        const [from, to] = original(start, end);
        return { type, start: from, end: to };
      })
      .toSorted((a, b) => a.start - b.start);
  };
}
