/** What an agent says that is not so is refused, or contradicted by the receipts. */
import { hold } from './cases.ts';
import { expectScreen } from './command.ts';
import { judge } from './judge.ts';
import type { Expected } from './judge.ts';
import { play } from './play.ts';

hold<Expected>('a dishonest run', 'dishonest.yaml', async (each) => {
  judge(each, await play(each));
  await expectScreen(each);
});
