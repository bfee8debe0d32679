/**
 * The environment of expressions in Kubernetes v1.36: its libraries, and the strictness of the
 * checker.
 */
import { Environment } from "../check/environment.ts";
import { authorizerLibrary } from "./authorizer.ts";
import { cidrLibrary } from "./cidr.ts";
import { formatsLibrary } from "./formats.ts";
import { ipLibrary } from "./ip.ts";
import { kubernetesLists } from "./kubernetes-lists.ts";
import { kubernetesRegex } from "./kubernetes-regex.ts";
import { listsLibrary } from "./lists.ts";
import { optionalLibrary } from "./optional.ts";
import { quantityLibrary } from "./quantity.ts";
import { semverLibrary } from "./semver.ts";
import { setsLibrary } from "./sets.ts";
import { standardLibrary } from "./standard-library.ts";
import { stringsLibrary } from "./strings.ts";
import { twoVariableComprehensions } from "./two-variable-comprehensions.ts";
import { urlsLibrary } from "./urls.ts";

/** Has no variables; `extend` adds them. Policies that mutate add the JSON patch library. */
export const kubernetesEnvironment: Environment = Environment.create({
  validateLiterals: true,
  libraries: [
    standardLibrary,
    urlsLibrary,
    kubernetesRegex,
    kubernetesLists,
    authorizerLibrary,
    optionalLibrary,
    quantityLibrary,
    stringsLibrary(),
    setsLibrary,
    ipLibrary,
    cidrLibrary,
    formatsLibrary,
    twoVariableComprehensions,
    semverLibrary,
    listsLibrary,
  ],
});
