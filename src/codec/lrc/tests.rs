//! Layouts, and what the module says about them.

use super::super::testing::words_of;
use super::*;
