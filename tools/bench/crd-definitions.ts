/** The definitions and objects of the rows on custom resources. */
import { definition, definitionsPath, object, text } from "./hold-case.ts";

/** A kind of its own each time, with some fifty fields. */
export function distinctDefinition(i: number): string {
  const fields = Object.fromEntries(
    Array.from({ length: 50 }, (_, at) => [
      `field${i}x${at}`,
      { ...text, description: `What field ${at} of kind ${i} is good for.`, maxLength: 100 },
    ]),
  );
  const schema = object({ spec: object(fields) });
  return JSON.stringify(
    definition({ schema, plural: `kinds${i}`, group: `g${i % 100}.example.com` }),
  );
}

export const widgets = JSON.stringify(
  definition({
    plural: "widgets",
    schema: object({
      spec: object({
        payload: { ...text, maxLength: 1_000 },
        key: { ...text, pattern: "^[a-z]+$" },
        replicas: { type: "integer", minimum: 1, default: 3 },
      }),
    }),
  }),
);
export const widgetsPath = "/apis/hold.example.com/v1/namespaces/default/widgets";

/** As large as the ConfigMap beside it. */
export function widget(name: string): string {
  return JSON.stringify({
    apiVersion: "hold.example.com/v1",
    kind: "Kindwidgets",
    metadata: { name, labels: { app: "bench", half: "a" } },
    spec: { payload: "v".repeat(700), key: "value" },
  });
}

/** Some 500 KB of schema: a pod template, over and over, with documentation. */
export function largeSchema(): object {
  const leaf = (i: number) => ({
    ...text,
    description: `Field ${i}: ${"what it means and how it is used. ".repeat(4)}`,
  });
  const container = (i: number) =>
    object({
      name: leaf(i),
      image: { ...leaf(i), pattern: "^[a-z0-9./:-]+$" },
      ports: {
        type: "array",
        items: object({ port: { type: "integer", minimum: 1 }, name: leaf(i) }),
      },
      env: { type: "array", items: object({ name: leaf(i), value: leaf(i) }) },
      resources: { type: "object", additionalProperties: leaf(i) },
      pull: { ...text, enum: ["Always", "Never", "IfNotPresent"], default: "Always" },
    });
  return object({
    spec: object(
      Object.fromEntries(Array.from({ length: 360 }, (_, i) => [`container${i}`, container(i)])),
    ),
  });
}

/** Two kilobytes of it. */
export function largeObject(): object {
  const container = (i: number) => ({
    name: `name-${i}`,
    image: "registry.example.com/some/image:1.2.3",
    ports: [{ port: 80, name: "http" }],
    env: [{ name: "A", value: "some value" }],
    resources: { cpu: "100m", memory: "64Mi" },
    unknown: "pruned",
  });
  return {
    apiVersion: "hold.example.com/v1",
    kind: "Large",
    metadata: { name: "x" },
    spec: Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`container${i}`, container(i)])),
  };
}

export { definitionsPath };
