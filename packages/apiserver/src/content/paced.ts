/** An answer that is made while it is sent: a few milliseconds' worth of it in a turn, and no more than its reader takes. */
import { systemClock, yieldToEventLoop } from "@kcp-ts/machinery/base";
import { eventLoopCosts, eventLoopLimits } from "../event-loop/index.ts";

/** Texts of an answer, one after the other; nothing where making the next one takes a rest. */
export type TextChunks = Iterable<string | undefined>;

/** What making a byte of such an answer takes, see `ApiResponse`. */
export const generatedMicrosPerByte: number = eventLoopCosts.madeByte;

const { msPerTurn, chunkChars } = eventLoopLimits.madeAnswers;

export async function* streamText(texts: TextChunks): AsyncGenerator<Uint8Array> {
  let waiting: string[] = [];
  let chars = 0;
  let endsAt = systemClock.monotonic() + msPerTurn;
  for (const text of texts) {
    if (text !== undefined) {
      waiting.push(text);
      chars += text.length;
    }
    if (systemClock.monotonic() >= endsAt) {
      await yieldToEventLoop();
      endsAt = systemClock.monotonic() + msPerTurn;
    }
    if (chars < chunkChars) continue;
    yield Buffer.from(waiting.join(""));
    waiting = [];
    chars = 0;
  }
  if (chars > 0) yield Buffer.from(waiting.join(""));
}
