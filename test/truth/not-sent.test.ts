/** What was not sent is neither undone nor counted, and a crash is no timeout. The world's own list is the judge. */
import { hold } from './cases.ts';
import { expectLawful, judge } from './judge.ts';
import type { Expected } from './judge.ts';
import { play } from './play.ts';

hold<Expected>('what was sent', 'not-sent.yaml', async (each) => {
  const played = await play(each);
  judge(each, played);
  expectLawful(each, played);
});
