import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { SingleFlight } from "./shared-ask.ts";

const { signal } = new AbortController();

describe("a shared ask", () => {
  it("callers of one turn share one ask", async () => {
    let asks = 0;
    const shared = new SingleFlight(async () => ++asks);
    assert.deepEqual(await Promise.all([shared.answer(signal), shared.answer(signal)]), [1, 1]);
  });

  it("every caller gets the answer to an ask that started after its call", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 12 }),
        async (scheduler, delays) => {
          let time = 0;
          const shared = new SingleFlight(async () => {
            const startedAt = ++time;
            await scheduler.schedule(Promise.resolve());
            return startedAt;
          });
          const callers = delays.map(async (delay) => {
            for (let i = 0; i < delay; i++) await scheduler.schedule(Promise.resolve());
            const calledAt = ++time;
            return { calledAt, startedAt: await shared.answer(signal) };
          });
          await scheduler.waitFor(Promise.all(callers));
          for (const caller of callers) {
            const { calledAt, startedAt } = await caller;
            assert.ok(startedAt > calledAt, `asked at ${startedAt}, called at ${calledAt}`);
          }
        },
      ),
    );
  });

  it("a caller that gives up does not disturb the others", async () => {
    let release: (value: string) => void = () => undefined;
    const shared = new SingleFlight(() => new Promise<string>((resolve) => (release = resolve)));
    const controller = new AbortController();
    const impatient = shared.answer(controller.signal);
    const patient = shared.answer(signal);
    controller.abort(new Error("the caller went away"));
    await assert.rejects(impatient, /the caller went away/);
    release("answer");
    assert.equal(await patient, "answer");
  });

  it("a failed ask fails its callers and not the next ones", async () => {
    let asks = 0;
    const shared = new SingleFlight(async () => {
      if (++asks === 1) throw new Error("down");
      return asks;
    });
    await assert.rejects(shared.answer(signal), /down/);
    assert.equal(await shared.answer(signal), 2);
  });
});
