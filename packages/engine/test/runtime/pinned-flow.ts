/** A flow that calls a function of a module after an approval. */
export const FLOW = `tools:
  own.pay: { effect: read, module: "./code/own.mjs#pay" }
flow:
  id: f
  entry: ask
  nodes:
    - { id: ask, type: approval, message: "Pay?", choices: [yes_please, no], routes: [{ when: "approvals.ask == 'yes_please'", to: pay }] }
    - { id: pay, type: tool, tool: own.pay }
`;
