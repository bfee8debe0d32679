/** Plays a topic against one server, in order, and tells the answers as they are compared. */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { type Answer, type Exchange, type Topic, valueAt } from "./exchange.ts";
import { normalise } from "./normalise.ts";
import type { Sender } from "./send.ts";

export type Answers = ReadonlyMap<string, Answer>;

export async function runTopic(
  { exchanges }: Topic,
  sender: Sender,
  given: ReadonlyMap<string, string>,
): Promise<Answers> {
  const words = new Map(given);
  const answers = new Map<string, Answer>();
  for (const exchange of exchanges) {
    if (answers.has(exchange.name)) throw new Error(`two exchanges named ${exchange.name}`);
    const answer = await sendUntil(exchange, sender, words);
    for (const [word, path] of Object.entries(exchange.save ?? {})) {
      words.set(word, String(valueAt(answer.body, path)));
    }
    const { view } = exchange;
    answers.set(
      exchange.name,
      normalise(view === undefined ? answer : { ...answer, body: view(answer.body) }),
    );
  }
  return answers;
}

async function sendUntil(
  exchange: Exchange,
  sender: Sender,
  words: ReadonlyMap<string, string>,
): Promise<Answer> {
  const { until = () => true } = exchange;
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    const answer = await sender.send(exchange, words);
    // One that never comes is told as it is: the comparison shows it.
    if (until(answer) || waitedMs > withinMs) return answer;
    await sleep(systemClock, pollMs);
  }
}

const pollMs = 50;
const withinMs = 15_000;
