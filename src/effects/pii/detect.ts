/** Finds personal data in a text. Where two kinds overlap, the longer one counts, then the one that comes first in the table. */
import { card, iban, ssn } from './detectors/numbers.ts';
import { email, ip } from './detectors/contact.ts';
import { phoneDetector } from './detectors/phone.ts';
import { secret } from './detectors/secrets.ts';
import { customDetector, dob, name } from './detectors/words.ts';
import type { PiiPolicy } from '../../ir/pii.ts';
import type { Detector } from './detectors/detector.ts';
import { normalise } from './normalise.ts';

/** The kinds with a form of their own. `name` is separate: it is a guess, and off unless a document asks for it. */
const detectorsOf = (regions: readonly string[]): readonly Detector[] => [
  secret,
  email,
  iban,
  card,
  ssn,
  phoneDetector(regions),
  ip,
  dob,
];

export interface Found {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

export type Detect = (text: string, field: string | null) => readonly Found[];

type Policy = Pick<PiiPolicy, 'types' | 'names' | 'custom' | 'regions'>;

export function createDetect({ types, names, custom, regions = [] }: Policy): Detect {
  const detectors = [
    ...custom.map(customDetector),
    ...detectorsOf(regions).filter(({ type }) => types.includes(type)),
    ...(names ? [name] : []),
  ];
  return (source, field) => {
    const { text, original } = normalise(source);
    const all = detectors.flatMap((detector, rank) =>
      detector.find({ text, field }).map((span) => ({ type: detector.type, rank, start: span.start, end: span.end })),
    );
    all.sort((a, b) => b.end - b.start - (a.end - a.start) || a.rank - b.rank);
    const kept: typeof all = [];
    for (const span of all)
      if (!kept.some((other) => span.start < other.end && other.start < span.end)) kept.push(span);
    return kept
      .map(({ type, start, end }) => {
        const [from, to] = original(start, end);
        return { type, start: from, end: to };
      })
      .toSorted((a, b) => a.start - b.start);
  };
}
