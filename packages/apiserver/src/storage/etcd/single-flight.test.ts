import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { SingleFlight } from "./single-flight.ts";

const { signal } = new AbortController();

describe("a shared operation", () => {
  it("is shared by the callers of one turn", async () => {
    let asks = 0;
    const shared = new SingleFlight(async () => ++asks);
    assert.deepEqual(await Promise.all([shared.run(signal), shared.run(signal)]), [1, 1]);
  });

  it("starts after the call of every caller that gets its result", async () => {
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
            return { calledAt, startedAt: await shared.run(signal) };
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

  it("is not disturbed by a caller that cancels", async () => {
    let release: (value: string) => void = () => undefined;
    const shared = new SingleFlight(() => new Promise<string>((resolve) => (release = resolve)));
    const controller = new AbortController();
    const impatient = shared.run(controller.signal);
    const patient = shared.run(signal);
    controller.abort(new Error("the caller went away"));
    await assert.rejects(impatient, /the caller went away/);
    release("answer");
    assert.equal(await patient, "answer");
  });

  it("fails its own callers and not the next ones", async () => {
    let asks = 0;
    const shared = new SingleFlight(async () => {
      if (++asks === 1) throw new Error("down");
      return asks;
    });
    await assert.rejects(shared.run(signal), /down/);
    assert.equal(await shared.run(signal), 2);
  });
});
