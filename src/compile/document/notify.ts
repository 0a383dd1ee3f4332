/** The sections `notify` and `review_queue` as the engine needs them. */
import type { FlowBody } from '../../ir/nodes.ts';
import type { NotifyHook } from '../../ir/people.ts';
import type { Sections } from './schema/schema.ts';

export type Review = Pick<FlowBody, 'notify' | 'reviewQueue'>;

export function reviewOf({ notify, review_queue: queue }: Sections): Review {
  const { open, age } = queue ?? {};
  return {
    ...(notify === undefined ? {} : { notify: notify.map(hookOf) }),
    ...(queue === undefined
      ? {}
      : {
          reviewQueue: {
            ...(open === undefined ? {} : { open }),
            ...(age === undefined ? {} : { ageMs: Math.ceil(age * 1000) }),
          },
        }),
  };
}

function hookOf({
  webhook,
  secret_env: secretEnv = '',
  command = [],
}: NonNullable<Sections['notify']>[number]): NotifyHook {
  return webhook === undefined ? { command } : { webhook, secretEnv };
}
