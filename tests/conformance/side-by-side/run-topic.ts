/** Plays a topic against one server, in order, and tells the answers as they are compared. */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { type CorpusAnswer, type CorpusRequest, type CorpusTopic, valueAt } from "./exchange.ts";
import { normalize } from "./normalise.ts";
import type { Sender } from "./send.ts";

export type CorpusResponses = ReadonlyMap<string, CorpusAnswer>;

export async function runTopic(
  { exchanges }: CorpusTopic,
  sender: Sender,
  given: ReadonlyMap<string, string>,
): Promise<CorpusResponses> {
  const words = new Map(given);
  const answers = new Map<string, CorpusAnswer>();
  for (const exchange of exchanges) {
    if (answers.has(exchange.name)) throw new Error(`two exchanges named ${exchange.name}`);
    const answer = await sendUntil(exchange, sender, words);
    for (const [word, path] of Object.entries(exchange.save ?? {})) {
      words.set(word, String(valueAt(answer.body, path)));
    }
    const { view } = exchange;
    answers.set(
      exchange.name,
      normalize(view === undefined ? answer : { ...answer, body: view(answer.body) }),
    );
  }
  return answers;
}

async function sendUntil(
  exchange: CorpusRequest,
  sender: Sender,
  words: ReadonlyMap<string, string>,
): Promise<CorpusAnswer> {
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
