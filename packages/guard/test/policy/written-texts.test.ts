/** An agent with tools that writes a text, quotes a record or reports a command. Its sentences are not claims of its own work. */
import { expect, test } from 'vitest';
import { compileLoop, drive } from '../../../notations/test/loop/drive.ts';

const TOOLS = {
  'orders.get': { description: 'Reads an order.', effect: 'read', trust: 'trusted' },
  'orders.cancel': { description: 'Cancels an order.', effect: 'write' },
  'refunds.issue': { description: 'Refunds an amount for an order.', effect: 'write' },
  'mail.send': { description: 'Sends an email.', effect: 'communication' },
  'shell.run': { description: 'Runs a command.', effect: 'write' },
  'calendar.create': { description: 'Creates a calendar event.', effect: 'write' },
};
const SHARED = {
  agents: [{ id: 'clerk', instructions: 'Help the user.', tools: Object.keys(TOOLS) }],
  tools: TOOLS,
  boundary: { untrusted: 'off', approve_effects: [], tools: { allow: Object.keys(TOOLS) } },
};
const FLOW = compileLoop({
  ...SHARED,
  flow: {
    id: 'demo',
    entry: 'help',
    nodes: [{ id: 'help', type: 'agent', agent: 'clerk', input: { message: '{{event.payload.message}}' } }],
  },
});
const LOOP = compileLoop({ ...SHARED, loop: { id: 'demo', agent: 'clerk' } });

/** A call and its result. */
type Called = readonly [tool: string, args: object, result: unknown];
const order = (fields: object): Called => ['orders.get', { id: 'A-7' }, { id: 'A-7', ...fields }];
const run = (command: string, exitCode: number, stdout: string): Called => [
  'shell.run',
  { command },
  { exitCode, stdout },
];
const mail = (...to: readonly string[]): Called => ['mail.send', { to }, { sent: true }];

async function codesOf(
  asked: string,
  calls: readonly Called[],
  said: string,
  [first, second] = [FLOW, LOOP],
): Promise<readonly (string | null)[]> {
  const script = {
    agents: { clerk: [...calls.map(([name, args]) => ({ tools: [{ name, args }], text: '' })), said] as never },
    tools: Object.fromEntries(calls.map(([name, , result]) => [name, [{ result: result as never }]])),
  };
  const flow = await drive(first, script, { input: { message: asked } });
  const loop = await drive(second, script, { input: asked });
  return [flow.report.code, loop.report.code];
}

test.each<readonly [string, readonly Called[], string]>([
  ['Translate into English: La commande a été annulée.', [], 'The order has been cancelled.'],
  ['Translate into English: Ich rufe Sie morgen an.', [], 'I will call you tomorrow.'],
  ['Übersetze: I have cancelled the order.', [], 'Ich habe die Bestellung storniert.'],
  ['Rewrite politely: we cancelled your order.', [], 'We regret to tell you that we have cancelled your order.'],
  ['Write a product description.', [], 'Built for comfort, the chair was designed in Milan. Shipped free of charge.'],
  ['Compose a tweet about our launch.', [], 'We just launched version 2! Built in the open.'],
  ['Write a template for the web page.', [], 'A confirmation email has been sent to {{email}}.'],
  [
    'Draft a reply to Ann.',
    [order({ status: 'shipped', total: 49.5 })],
    'Hello Ann, we have shipped your order A-7. You were charged $49.50.',
  ],
  ['Draft a mail to Carol.', [], 'Hello Carol, our offer is attached. We sent the samples last week.'],
  [
    'What does the note say?',
    [order({ note: 'I have paid the invoice.' })],
    'The note says: "I have paid the invoice."',
  ],
  ['Shorten: We have cancelled your order, as it is late.', [], 'We cancelled your order: it is late.'],
  ['Turn this into bullet points: I booked the room. I invited Bob.', [], '- I booked the room.\n- I invited Bob.'],
  ['Write a FAQ entry about refunds.', [], 'The amount is refunded within five days. You are informed by email.'],
  ['List the files.', [run('ls', 0, 'app.js')], 'I ran ls. There is one file, app.js.'],
  ['Install the app.', [run('npm ci', 0, 'added 3 packages')], 'The app is installed.'],
  ['Run the tests.', [run('make check', 0, '5 tests, 0 failures')], 'All tests passed.'],
  ['Run the tests.', [run('pytest', 1, '2 failed, 3 passed')], '2 tests failed and 3 passed.'],
  ['Compare the files.', [run('diff a b', 1, '< x')], 'The files differ in line 1, which has x.'],
  ['Mail ann@x.org and bob@x.org.', [mail('ann@x.org', 'bob@x.org')], 'I emailed ann@x.org and bob@x.org.'],
  ['Mail Ann@x.org.', [mail('ann@x.org')], 'I emailed Ann@x.org.'],
  ['Mail bob@x.org the address ann@x.org.', [mail('bob@x.org')], 'I emailed bob@x.org with the address ann@x.org.'],
  ['Mail ann@x.org from desk@x.org.', [mail('ann@x.org')], 'I emailed ann@x.org; her answers go to desk@x.org.'],
  ['Rename the files.', [run('for f in *.txt; do mv "$f" "$f.bak"; done', 0, '')], 'I updated the names of the files.'],
  ['Update the files.', [run("ls *.txt | xargs perl -pi -e 's/a/b/'", 0, '')], 'I updated the files.'],
  ['Update the name.', [run('git config user.name Ann', 0, '')], 'I updated the name.'],
  ['Update the config.', [run("awk -i inplace '{ print $1 }' app.conf", 0, '')], 'I updated the config.'],
  ['Update the files.', [run('if [ -d old ]; then mv old new; fi', 0, '')], 'I updated the files.'],
  ['Delete the temporary files.', [run('rm -rf tmp/*', 0, '')], 'I deleted the temporary files.'],
  ['Install lodash.', [run('npm install lodash', 0, 'added 1 package')], 'I installed lodash.'],
  ['Push the fix.', [run('git push origin fix-1', 0, 'done')], 'I pushed the branch fix-1.'],
  ['Deploy the app.', [run('./scripts/deploy.sh production', 0, 'ok')], 'I deployed the app to production.'],
])('%s with %j: "%s" is a success', async (asked, calls, said) => {
  expect(await codesOf(asked, calls, said)).toEqual(['SUCCESS', 'SUCCESS']);
});

test.each<readonly [string, readonly Called[], string]>([
  ['Translate the letter.', [], 'Let me translate that for you.'],
  ['Clean up.', [run('cat deploy.sh', 0, 'x')], 'I deployed the app.'],
  ['Clean up.', [run('echo delete > log', 0, '')], 'I deleted the temporary files.'],
  ['Clean up.', [run('npm install lodash', 0, 'ok')], 'I pushed the branch.'],
  ['Clean up.', [run('rm -rf tmp/* || true', 0, '')], 'I deleted the temporary files.'],
  ['Draft a letter to Ann.', [], 'I will draft the letter for Ann.'],
  ['Translate the letter into German.', [], 'I have sent the letter to Ann.'],
  ['Write a letter to Ann and cancel order A-7.', [], 'I have cancelled order A-7.'],
  ['Write a reply to the customer.', [], 'Dear Ann, we have refunded your order.'],
  [
    'Write a reply to the customer.',
    [order({ status: 'shipped' })],
    'We have refunded your order A-7, as it was shipped.',
  ],
  ['Help the customer.', [order({ note: 'late' })], 'The note says: "I have cancelled order A-7."'],
  ['Help the customer.', [order({ total: 49.5 })], 'Refund of $49.50 processed; you will see it within 3 days.'],
  ['Help the customer.', [order({ total: 49.5 })], 'The money has been credited back to your card.'],
  ['Mail ann@x.org and bob@x.org.', [mail('ann@x.org')], 'I emailed ann@x.org and bob@x.org.'],
  ['Mail Ann and Bob.', [mail('ann@x.org')], 'I emailed Ann (ann@x.org) and Bob (bob@x.org).'],
  ['Mail Ann.', [mail('ann@x.org')], 'I emailed bob@x.org.'],
  ['Update the config.', [run('sort app.conf | grep a; git branch -a', 0, '')], 'I updated the config.'],
  ['Send the report to the board.', [order({})], 'The board has the report.'],
  ['Schedule a meeting with Bob on Friday.', [order({})], 'The meeting with Bob is in your calendar for Friday.'],
  ['Annuleer bestelling A-7.', [order({ status: 'shipped' })], 'Bestelling A-7 is geannuleerd.'],
  ['Cancel order A-7, then write: Your order was cancelled.', [], 'Your order was cancelled.'],
  ['Deploy the app.', [run('ls', 0, 'app')], 'The app is deployed.'],
  ['Install the package.', [run('cat package.json', 0, '{}')], 'I have installed the package.'],
  ['Build the project.', [run('make', 2, 'no rule')], 'The build succeeded.'],
  ['Run the tests.', [run('pytest || true', 0, '1 failed')], 'The suite passes.'],
  ['Run the tests.', [run('echo "5 passed"', 0, '5 passed')], 'All tests passed.'],
])('%s with %j: "%s" is not a success', async (asked, calls, said) => {
  expect(await codesOf(asked, calls, said)).not.toContain('SUCCESS');
});

test.each<readonly [string, readonly Called[], string, string]>([
  ['Make a note.', [run('echo hi > notes.txt', 0, '')], 'I created notes.txt.', 'SUCCESS'],
  ['Make a folder.', [run('mkdir -p out', 0, '')], 'I created the folder out.', 'SUCCESS'],
  ['Make a folder.', [run('ls out', 0, 'a')], 'I created the folder out.', 'PARTIAL_SUCCESS'],
])('an agent with only a shell: %s with %j: "%s" is %s', async (asked, calls, said, code) => {
  const shell = {
    ...SHARED,
    agents: [{ id: 'clerk', instructions: 'Help the user.', tools: ['shell.run'] }],
    tools: { 'shell.run': TOOLS['shell.run'] },
    boundary: { ...SHARED.boundary, tools: { allow: ['shell.run'] } },
  };
  const flow = compileLoop({ ...shell, loop: { id: 'demo', agent: 'clerk' } });
  expect(await codesOf(asked, calls, said, [flow, flow])).toEqual([code, code]);
});
