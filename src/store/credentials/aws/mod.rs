//! Keys of Amazon's services that come from profiles, programs, single sign-on and assumed roles.
//!
//! - `access`: which keys the options and the environment ask for
//! - `files`: the files of Amazon's tools, `~/.aws/config` and `~/.aws/credentials`
//! - `keys`: keys, and roles that give keys
//! - `origin`: where keys come from, and how to get them
//! - `profile`: what a profile says about its keys
//! - `program`: runs a program that prints keys
//! - `token_service`: keys of assumed roles, of the service STS and of single sign-on

mod access;
mod files;
mod keys;
mod origin;
mod profile;
mod program;
mod token_service;

pub(crate) use access::{AwsAccess, access};
