/**
 * Definitions that an APIExport offers instead of a stored CustomResourceDefinition: validated by
 * the same rules, compiled once for all clusters with an equal definition.
 */
import type { Resumable } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  readCustomResourceDefinition,
  validateCustomResourceDefinitionResumable,
} from "@kcp-ts/machinery/schema";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { definitionDepthMax, isDeeper } from "./decode-definition.ts";
import { ruleEngine } from "./rule-engine.ts";
import { ruleLimitErrors } from "./rule-limits.ts";
import { internDefinition, type SharedDefinition } from "./shared-definition.ts";

/** `object` is a CustomResourceDefinition with accepted names in its status. */
export function compileExportedDefinition(
  object: JsonObject,
  options: { readonly isTerminating: boolean },
): SharedDefinition {
  const { definition } = readCustomResourceDefinition(object);
  return internDefinition(object, definition, options.isTerminating);
}

/** The errors of a definition that is to be exported; it may be large. */
export function* exportedDefinitionErrors(object: JsonObject): Resumable<FieldError[]> {
  if (isDeeper(object, definitionDepthMax))
    return [fieldError.forbidden("spec", `nested deeper than ${definitionDepthMax} levels`)];
  yield;
  const { definition, problems } = readCustomResourceDefinition(object);
  yield;
  const [problem] = problems;
  if (problem !== undefined) return [fieldError.invalid("spec", "", problem)];
  const tooMany = ruleLimitErrors(definition);
  if (tooMany.length > 0) return tooMany;
  yield;
  return yield* validateCustomResourceDefinitionResumable(definition, undefined, {
    allowBuiltInGroups: true,
    evaluator: ruleEngine,
    perVersionPaths: true,
  });
}
