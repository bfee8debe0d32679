import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clusterLabel, softFinalizersAnnotation } from "../api/index.ts";
import { withoutTrafficHolds } from "./converge.ts";

describe("a plan", () => {
  it("does not count on Services that hold a copy while endpoints are published, and does on others", () => {
    const copy = (holders: string) => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: {
        name: "web--east",
        labels: { [clusterLabel]: "east" },
        annotations: { [softFinalizersAnnotation("east")]: holders },
      },
      spec: {},
    });
    const left = (holders: string) =>
      withoutTrafficHolds(copy(holders)).metadata.annotations?.[softFinalizersAnnotation("east")];
    assert.equal(left("traffic/web"), "");
    assert.equal(left("traffic/web,example.com/backup"), "example.com/backup");
    const foreign = copy("example.com/backup");
    assert.equal(withoutTrafficHolds(foreign), foreign);
  });
});
