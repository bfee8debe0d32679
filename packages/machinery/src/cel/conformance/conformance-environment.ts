/**
 * The environment of the conformance suite: the language and every extension, without Kubernetes'
 * restrictions.
 */
import { Environment } from "../check/environment.ts";
import { bindingsLibrary } from "../library/bindings.ts";
import { encodersLibrary } from "../library/encoders.ts";
import { standardFormat } from "../library/format-dialects.ts";
import { mathLibrary } from "../library/math.ts";
import { optionalLibrary } from "../library/optional.ts";
import { setsLibrary } from "../library/sets.ts";
import { standardLibrary } from "../library/standard-library.ts";
import { stringReverseLibrary, stringsLibrary } from "../library/strings.ts";
import { twoVariableComprehensions } from "../library/two-variable-comprehensions.ts";

export const conformanceEnvironment = Environment.create({
  libraries: [
    standardLibrary,
    optionalLibrary,
    twoVariableComprehensions,
    bindingsLibrary,
    mathLibrary,
    encodersLibrary,
    setsLibrary,
    stringsLibrary({ dialect: standardFormat }),
    stringReverseLibrary,
  ],
});
