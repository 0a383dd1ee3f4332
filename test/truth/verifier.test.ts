/** Who judges an answer, what the judge is shown, and what follows from its verdict. */
import { hold } from './cases.ts';
import { expectChecked, expectScreen, isChecked } from './command.ts';
import type { Checked } from './command.ts';
import { judge } from './judge.ts';
import type { Expected } from './judge.ts';
import { play } from './play.ts';

hold<Expected & Checked>('a verdict', 'verifier.yaml', async (each) => {
  if (isChecked(each.expect)) return expectChecked(each);
  judge(each, await play(each));
  await expectScreen(each);
});
