/** Nodes. */
import { objectIn, type ResourceDefinition } from "@kcp-ts/apiserver/kinds";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { node } from "@kcp-ts/machinery/shape";
import { type Generation, inGeneration } from "../shapes/index.ts";
import { defineKind } from "./kind.ts";

export function nodesKind(generation: Generation): ResourceDefinition {
  return defineKind({
    group: "",
    kind: "Node",
    resource: "nodes",
    shortNames: ["no"],
    isNamespaced: false,
    hasGeneration: false,
    shape: inGeneration(node, generation),
    strategy: {
      selectableFields: new Map([
        [
          "spec.unschedulable",
          (object: JsonObject) => String(objectIn(object, "spec")["unschedulable"] ?? false),
        ],
      ]),
    },
  });
}
