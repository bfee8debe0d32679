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

describe("started components", () => {
  it("are closed in reverse order, with the reason of the close", async () => {
    const { all, closed } = started();
    await all.close("stop");
    assert.deepEqual(closed, ["listener:stop", "server:stop", "store:stop"]);
  });

  it("are closed once, for any number of calls", async () => {
    const { all, closed } = started();
    await Promise.all([all.close("stop"), all.close("failure")]);
    assert.deepEqual(closed, ["listener:stop", "server:stop", "store:stop"]);
  });

  it("are all closed when some of them fail to close, and the first failure is thrown", async () => {
    const { all, closed } = started(["listener", "server"]);
    await assert.rejects(all.close("failure"), /no end of listener/);
    assert.deepEqual(closed, ["listener:failure", "server:failure", "store:failure"]);
  });
});
