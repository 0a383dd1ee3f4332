/** The files of a new project. They are short and run offline. */
export const DESK_FILES: { readonly [path: string]: string } = {
  'desk.loop.yaml': `# One agent with two tools. It looks up orders by itself, and a refund waits for a person.
agents:
  - { id: desk, instructions: "Find the order. Refund what we owe. Say what you did.", tools: [orders.get, payments.refund] }
tools:
  orders.get: { effect: read, trust: trusted, input: { properties: { order: { type: string } }, required: [order] } }
  payments.refund: { effect: financial, amount: args.amount, input: { properties: { order: { type: string }, amount: { type: number } } } }
boundary: { profile: support }
budgets: { tool_calls: 6, cost_usd: 0.25 }
loop: { id: refunds, agent: desk }
`,
  'desk.script.yaml': `# Plays the model and the two tools, so that the flow runs offline. It answers no question: that is yours to do.
agents:
  desk:
    - { tools: [{ name: orders.get, args: { order: A-1042 } }] }
    - { tools: [{ name: payments.refund, args: { order: A-1042, amount: 49.5 } }], text: The kettle leaks and came five days ago. }
    - '{ "status": "complete", "answer": "I refunded $49.50 for order A-1042." }'
tools:
  orders.get: [{ result: { order: A-1042, item: kettle, total: 49.5 } }]
  payments.refund: [{ result: { receipt: re_7f3a, paid: 49.5 } }]
`,
  'input.txt': `My kettle leaks. Please refund order A-1042.
`,
  'README.md': `# A desk that asks before it pays

    npx sluice check desk.loop.yaml
    npx sluice dev

The page shows the flow. Press \`Start\` with the script \`desk\`, and approve the refund in the inbox. Or stay in the terminal:

    npx sluice run desk.loop.yaml --script desk.script.yaml --input @input.txt
    npx sluice approvals
    npx sluice answer APPROVAL approve --script desk.script.yaml
    npx sluice explain RUN
`,
  '.gitignore': `.sluice/
node_modules/
`,
};

/** The files of the template `support`. */
export const PROJECT_FILES: { readonly [path: string]: string } = {
  'support.flow.yaml': `# A support desk. An agent reads the message, a decision looks at the amount,
# a person approves large refunds, and a tool pays.
agents:
  - id: triage_bot
    instructions: |
      Read the customer's message. Answer with JSON: the category ("refund" or "other")
      and, for a refund, the amount in dollars.
    output:
      type: object
      properties:
        category: { enum: [refund, other] }
        amount: { type: number }
      required: [category, amount]

tools:
  payments.refund:
    description: Pays money back to a customer.
    effect: financial
    input:
      type: object
      properties:
        order: { type: string }
        amount: { type: number }
      required: [order, amount]
    output:
      type: object
      properties:
        paid: { type: boolean }
      required: [paid]
    timeout: 30

flow:
  id: support
  entry: triage
  description: Refunds; a person approves the large ones
  nodes:
    - id: triage
      type: agent
      agent: triage_bot
      input:
        message: "{{event.payload.message}}"
      routes:
        - { when: "category == 'refund'", to: size }
        - { when: "default", to: other }

    - id: size
      type: decision
      expr: "triage.output.amount > 100 ? 'large' : 'small'"
      routes:
        - { when: "large", to: gate }
        - { when: "default", to: pay }

    - id: gate
      type: approval
      message: "Refund \${{triage.output.amount}} for order {{event.payload.order}}?"
      choices: [approve, reject]
      routes:
        - { when: "approvals.gate == 'approve'", to: pay }
        - { when: "default", to: refused }

    - id: pay
      type: tool
      tool: payments.refund
      params:
        order: "{{event.payload.order}}"
        amount: "{{triage.output.amount}}"
      routes:
        - { to: done }

    - id: done
      type: terminal
      output: { refunded: "{{triage.output.amount}}", order: "{{event.payload.order}}" }

    - id: refused
      type: terminal
      output: { refunded: 0, order: "{{event.payload.order}}" }

    - id: other
      type: terminal
      output: { answer: "A colleague will write to you." }
`,
  'support.script.yaml': `# Replaces the model and the tool, so that the flow runs offline and the same way every time.
# It does not answer the approval, so the run waits for you. Add "approvals: { gate: approve }" to answer it here.
agents:
  triage_bot:
    - text: '{"category": "refund", "amount": 250}'
      usage: { input: 120, output: 20 }
tools:
  payments.refund:
    - result: { paid: true }
`,
  'input.json': `{ "message": "My parcel never came. I want my money back.", "order": "A-1001" }
`,
  'README.md': `# A support desk that asks before it pays

    npx sluice check support.flow.yaml
    npx sluice graph support.flow.yaml --format svg > support.svg
    npx sluice run support.flow.yaml --script support.script.yaml --input @input.json

The run stops at the approval. See what waits, and answer it:

    npx sluice approvals
    npx sluice answer APPROVAL approve --script support.script.yaml

Then look at what happened:

    npx sluice runs
    npx sluice show RUN
    npx sluice trace RUN
    npx sluice replay RUN
    npx sluice audit verify
`,
  '.gitignore': `.sluice/
node_modules/
`,
};
