import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Ending, Started } from "./started.ts";

function started(failing: readonly string[] = []) {
  const closed: string[] = [];
  const all = new Started();
  for (const name of ["store", "server", "listener"])
    all.endsBy(async (ending: Ending) => {
      closed.push(`${name}:${ending}`);
      if (failing.includes(name)) throw new Error(`no end of ${name}`);
    });
  return { all, closed };
}

describe("what was started", () => {
  it("is closed backwards, and told how it ends", async () => {
    const { all, closed } = started();
    await all.close("stop");
    assert.deepEqual(closed, ["listener:stop", "server:stop", "store:stop"]);
  });

  it("is closed once, however often that is asked", async () => {
    const { all, closed } = started();
    await Promise.all([all.close("stop"), all.close("failure")]);
    assert.deepEqual(closed, ["listener:stop", "server:stop", "store:stop"]);
  });

  it("is closed to the last when some of it fails to, and the first failure is told", async () => {
    const { all, closed } = started(["listener", "server"]);
    await assert.rejects(all.close("failure"), /no end of listener/);
    assert.deepEqual(closed, ["listener:failure", "server:failure", "store:failure"]);
  });
});
