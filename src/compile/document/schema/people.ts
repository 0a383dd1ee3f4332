/** The sections about people: `people`, and `approvers` on nodes, tools and stages. */
import type * as z from 'zod';
import { expects, int, list, name, number, record } from '../shape/fields.ts';

const KEY = /^ed25519:(?:(?:MCowBQYDK2VwAyEA)?[A-Za-z0-9+/_-]{43}=?)$/;

export const people = list(
  record({
    id: name().describe('The name under which the person answers.'),
    roles: list(name()).optional().describe('Roles that `approvers` can name.'),
    key: name()
      .regex(KEY, { error: expects('a public key such as `sluice keys add NAME` prints: `ed25519:…`') })
      .optional()
      .describe('The public key. The person signs every answer.'),
    os_user: name()
      .optional()
      .describe('Without a key: the user of the operating system who is this person. Default: the id.'),
  }),
).describe('The people who answer questions.');

/** The file beside the document: the list itself, or a map with `people`. */
export const peopleFile = record({ people });

const named = {
  roles: list(name()).optional().describe('Everybody with one of these roles may answer.'),
  people: list(name()).optional().describe('These people may answer.'),
};

export const approvers = record({
  ...named,
  quorum: int({ min: 1 }).optional().describe('How many different people must agree; default 1.'),
  escalate: record({
    after: number({ above: 0, max: 31_536_000 }).describe('Seconds without an answer.'),
    ...named,
  })
    .optional()
    .describe('More people who may answer if the question stays open for so long.'),
}).describe('The people who may answer. Without `roles` and `people`: everybody in `people`.');

export type PersonValue = z.output<typeof people>[number];
export type ApproversValue = z.output<typeof approvers>;
