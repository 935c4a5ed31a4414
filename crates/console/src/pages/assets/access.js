// @ts-check
// The access page: lists and forms as everywhere, and texts to copy.

import "./lists.js";
import "./copy.js";
