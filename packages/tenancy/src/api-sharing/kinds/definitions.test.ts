import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runSync } from "@kcp-ts/machinery/base";
import { apiResourceSchemas } from "./definitions.ts";

describe("the validation of an APIResourceSchema", () => {
  const schemaOf = (type: string) => ({
    apiVersion: "apis.kcp.io/v1alpha1",
    kind: "APIResourceSchema",
    metadata: { name: "v1.widgets.example.com" },
    spec: {
      group: "example.com",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      scope: "Namespaced",
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: {
            type: "object",
            properties: Object.fromEntries(
              Array.from({ length: 3_000 }, (_, i) => [`f${i}`, { type, maxLength: i }]),
            ),
          },
        },
      ],
    },
  });

  const validate = (type: string) => {
    const work = apiResourceSchemas.strategy.validate(schemaOf(type));
    assert.ok(!Array.isArray(work));
    let rests = 0;
    const errors = runSync(
      (function* () {
        for (;;) {
          const { done, value } = work.next();
          if (done === true) return value;
          rests++;
          yield;
        }
      })(),
    );
    return { errors, rests };
  };

  it("yields to the event loop for a large schema", () => {
    const { errors, rests } = validate("string");
    assert.deepEqual(errors, []);
    assert.ok(rests > 10, `${rests} rests`);
  });

  it("names the field of an error as the schema has it", () => {
    const [error] = validate("text").errors;
    assert.match(error?.field ?? "", /^spec\.versions\[0\]\.schema\.properties\[f0\]\.type$/);
  });
});
