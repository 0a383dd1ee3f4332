/** Finds personal data in a text. Where two kinds overlap, the longer one counts, then the one that comes first in the table. */
import { card, iban, ssn } from './detectors/numbers.ts';
import { email, ip } from './detectors/contact.ts';
import { phoneDetector } from './detectors/phone.ts';
import { secret } from './detectors/secrets.ts';
import { customDetector, dob, name } from './detectors/words.ts';
import type { PiiPolicy } from '../../ir/pii.ts';
import { longestOf, type Detector, type Span } from './detectors/detector.ts';
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

export interface Found extends Span {
  readonly type: string;
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
