//! Git over https: nginx and git's http backend, with a CA and a password of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::tls::{make_certificates, nginx_user};
use super::{ChildProcess, are_installed, find, free_port, run};

/// A running nginx that serves repositories to one user.
///
/// `/open/…` needs no password, `/moved/…` redirects to the same repository here, and `/elsewhere/…` redirects to the
/// same repository under another host name.
pub struct GitHttps {
    directory: TempDir,
    port: u16,
    _backend: ChildProcess,
    _server: ChildProcess,
}

impl GitHttps {
    /// The user with access.
    pub const USER: &'static str = "windlass";
    /// The user's password.
    pub const PASSWORD: &'static str = "planted-password-7Q";

    /// Starts a server. `None`, with a message, if a program for it is missing.
    pub fn start() -> Option<GitHttps> {
        if !are_installed(&["git", "nginx", "fcgiwrap", "openssl"]) {
            return None;
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        let at = directory.path();
        fs::create_dir(at.join("repositories")).expect("a directory");
        make_certificates(at);
        write_password_file(at, GitHttps::PASSWORD);
        let port = free_port();
        fs::write(at.join("nginx.conf"), configuration(at, port)).expect("a file");
        let socket = at.join("backend.sock");
        let backend = ChildProcess::start(
            Command::new(find("fcgiwrap")?)
                .args(["-s", &format!("unix:{}", socket.display())])
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_CONFIG_NOSYSTEM", "1"),
        );
        backend.wait_for_file(&socket);
        let server = ChildProcess::start(
            Command::new(find("nginx")?).arg("-p").arg(at).arg("-c").arg(at.join("nginx.conf")),
        );
        server.wait_for_port(port);
        Some(GitHttps { directory, port, _backend: backend, _server: server })
    }

    /// Changes the user's password.
    pub fn set_password(&self, password: &str) {
        write_password_file(self.directory.path(), password);
    }

    /// The directory for bare repositories.
    pub fn root(&self) -> PathBuf {
        self.directory.path().join("repositories")
    }

    /// The address of a repository.
    pub fn url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}/{path}", self.port)
    }

    /// The certificate of the CA, in PEM.
    pub fn ca(&self) -> String {
        fs::read_to_string(self.directory.path().join("ca.pem")).expect("it was made")
    }

    /// One line for each request: host, method, path, status, bytes sent.
    pub fn requests(&self) -> String {
        fs::read_to_string(self.directory.path().join("access.log")).unwrap_or_default()
    }
}

fn write_password_file(at: &Path, password: &str) {
    let hash = run(Command::new("openssl").args(["passwd", "-apr1", password]));
    fs::write(at.join("htpasswd"), format!("{}:{}\n", GitHttps::USER, hash.trim())).expect("a file");
}

fn configuration(at: &Path, port: u16) -> String {
    let backend = format!("{}/git-http-backend", run(Command::new("git").arg("--exec-path")).trim());
    let user = nginx_user();
    let at = at.display();
    let git = format!(
        "fastcgi_pass unix:{at}/backend.sock;\n\
         fastcgi_param SCRIPT_FILENAME {backend};\n\
         fastcgi_param GIT_PROJECT_ROOT {at}/repositories;\n\
         fastcgi_param GIT_HTTP_EXPORT_ALL 1;\n\
         fastcgi_param GIT_CONFIG_GLOBAL /dev/null;\n\
         fastcgi_param GIT_CONFIG_NOSYSTEM 1;\n\
         fastcgi_param REMOTE_USER $remote_user;\n\
         fastcgi_param HTTP_GIT_PROTOCOL $http_git_protocol;\n\
         fastcgi_param QUERY_STRING $query_string;\n\
         fastcgi_param REQUEST_METHOD $request_method;\n\
         fastcgi_param CONTENT_TYPE $content_type;\n\
         fastcgi_param CONTENT_LENGTH $content_length;\n"
    );
    format!(
        "{user}\ndaemon off;\nmaster_process off;\npid {at}/nginx.pid;\nerror_log {at}/error.log;\n\
         events {{ worker_connections 64; }}\n\
         http {{\n\
         log_format seen '$host $request_method $request_uri $status $body_bytes_sent';\n\
         access_log {at}/access.log seen;\n\
         client_body_temp_path {at}/body; proxy_temp_path {at}/proxy; fastcgi_temp_path {at}/fastcgi;\n\
         uwsgi_temp_path {at}/uwsgi; scgi_temp_path {at}/scgi; client_max_body_size 0;\n\
         server {{\n\
         listen 127.0.0.1:{port} ssl;\n\
         ssl_certificate {at}/server.pem; ssl_certificate_key {at}/server.key;\n\
         location ~ ^/moved(/.*)$ {{ return 301 https://$http_host$1$is_args$args; }}\n\
         location ~ ^/elsewhere(/.*)$ {{ return 301 https://localhost:{port}$1$is_args$args; }}\n\
         location ~ ^/open(/.*)$ {{ {git} fastcgi_param PATH_INFO $1; }}\n\
         location / {{ auth_basic git; auth_basic_user_file {at}/htpasswd;\n\
         {git} fastcgi_param PATH_INFO $uri; }}\n\
         }}\n}}\n"
    )
}
