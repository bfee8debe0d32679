import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runSync } from "@kcp-ts/machinery/base";
import type { APIResourceImport, SchemaUpdateStrategy } from "../api/index.ts";
import { describeFindings, findingsShownMax } from "./conditions.ts";
import type { Definition } from "./definitions.ts";
import { planNegotiation } from "./plan-negotiation.ts";

function imported(
  location: string,
  version: string,
  fields: readonly string[] = [],
  schemaUpdateStrategy: SchemaUpdateStrategy = "UpdateUnpublished",
): APIResourceImport {
  const properties = Object.fromEntries(fields.map((name) => [name, { type: "string" }]));
  return {
    apiVersion: "apiresource.kcp.io/v1alpha1",
    kind: "APIResourceImport",
    metadata: { name: `scalers.${location}.${version}.autoscaling` },
    spec: {
      location,
      schemaUpdateStrategy,
      groupVersion: { group: "autoscaling", version },
      scope: "Namespaced",
      plural: "scalers",
      kind: "Scaler",
      openAPIV3Schema: { type: "object", properties },
    },
  };
}

function published(version: string, fields: readonly string[] = []): Definition {
  const { spec } = imported("any", version, fields);
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: "scalers.autoscaling",
      ownerReferences: [
        {
          apiVersion: "apiresource.kcp.io/v1alpha1",
          kind: "NegotiatedAPIResource",
          name: "n",
          uid: "u",
        },
      ],
    },
    spec: {
      group: "autoscaling",
      scope: "Namespaced",
      names: { plural: "scalers", kind: "Scaler" },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: spec.openAPIV3Schema },
        },
      ],
    },
  };
}

describe("negotiation plan", () => {
  const newer = [imported("east", "v2"), imported("east", "v1")];

  it("publishes the best version of a cluster", () => {
    const plan = runSync(
      planNegotiation({ imports: newer, negotiated: [], definition: undefined, autoPublish: true }),
    );
    assert.equal(plan.chosen?.version, "v2");
  });

  it("publishes the version that both clusters serve", () => {
    const imports = [...newer, imported("west", "v1")];
    const plan = runSync(
      planNegotiation({ imports, negotiated: [], definition: undefined, autoPublish: true }),
    );
    assert.equal(plan.chosen?.version, "v1");
  });

  it("keeps the published version, and reports a better one", () => {
    const imports = [...newer, imported("west", "v1")];
    const definition = published("v2");
    const plan = runSync(
      planNegotiation({ imports, negotiated: [], definition, autoPublish: true }),
    );
    assert.equal(plan.chosen?.version, "v2");
    assert.match(plan.betterIf ?? "", /v1 suits 2 clusters, v2 only 1/);
  });

  it("reports that no remaining cluster accepts the published API", () => {
    const imports = [imported("west", "v1", ["old"])];
    const definition = published("v1", ["old", "new"]);
    const plan = runSync(
      planNegotiation({ imports, negotiated: [], definition, autoPublish: true }),
    );
    assert.match(plan.betterIf ?? "", /no cluster accepts v1/);
  });

  it("publishes no API automatically when automatic publishing is disabled", () => {
    const plan = runSync(
      planNegotiation({
        imports: newer,
        negotiated: [],
        definition: undefined,
        autoPublish: false,
      }),
    );
    assert.equal(plan.chosen, undefined);
    assert.equal(plan.versions.length, 2);
  });
});

describe("findings in a condition", () => {
  const finding = (at: number) => ({
    kind: "narrower" as const,
    path: `.f${at}`,
    message: "is gone",
  });

  it("findings are listed up to the limit, and counted beyond it", () => {
    const atLimit = Array.from({ length: findingsShownMax }, (_, at) => finding(at));
    assert.doesNotMatch(describeFindings(atLimit), /more/);
    assert.match(describeFindings([...atLimit, finding(99)]), /; and 1 more$/);
  });
});
